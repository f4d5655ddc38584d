//! Loops compiled for the widest registers of the processor that runs them.
//!
//! A build for every x86-64 may count on registers of four floats. What [`wide`] is given is compiled a second time for eight, and
//! the processor decides when the program runs. Products and sums are rounded one by one either way, never fused, so the bits are
//! the same.
//!
//! Only what is inlined is compiled anew: the closure has to say `#[inline(always)]`, and so has every function in its loops. It is
//! called by reference, because a closure that is called by value sits in a function of the compiler's own, which is not inlined:
//! for some time the solver of dCoT was handed over that way and ran on four floats.

/// Does `work` in the widest registers.
#[inline]
pub(crate) fn wide<R>(work: impl FnMut() -> R) -> R {
    struct Work<F>(F);
    impl<R, F: FnMut() -> R> pulp::NullaryFnOnce for Work<F> {
        type Output = R;

        #[inline(always)]
        fn call(mut self) -> R {
            (self.0)()
        }
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        return v3.vectorize(Work(work));
    }
    pulp::NullaryFnOnce::call(Work(work))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_are_those_of_narrow_registers() {
        let values: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.37).sin()).collect();
        let sums = |values: &[f32]| {
            let mut sums = [0f32; 16];
            for lane in values.as_chunks::<16>().0 {
                for i in 0..16 {
                    sums[i] += 0.1 * lane[i];
                }
            }
            sums
        };
        let broad = wide(
            #[inline(always)]
            || sums(&values),
        );
        assert_eq!(broad, sums(&values));
    }
}
