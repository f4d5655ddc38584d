//! Loops compiled for the widest registers of the processor that runs them.
//!
//! A build for every x86-64 may count on registers of four floats. What [`wide`] is given is compiled a second time for eight, and
//! the processor decides when the program runs. Products and sums are rounded one by one either way, never fused, so the bits are
//! the same.
//!
//! Only what is inlined is compiled anew: the closure has to say `#[inline(always)]`, and so has every function in its loops. It is
//! called by reference, because a closure that is called by value may sit in a function of the compiler's own that is not
//! inlined: handed over that way, the solver of dCoT ran on four floats (20 Newsgroups: the stage took 9.6 s, and takes 7.4). Loops
//! over short arrays the compiler may still take apart into single floats, as `perf annotate` tells; then [`registers`] are spelled out.
//!
//! The build leaves out the second optimisation across the units of a crate (`lto = "off"`), which takes two fifths of the time to build the library. What
//! the standard library does not mark as inlined is then a call from within these loops: the making of a `zip`, every place of
//! `std::array::from_fn`, and a fold over `map`. So loops over short arrays go by number here, and [`by_place`] makes arrays; a `zip`
//! around a long loop costs nothing.

pub(crate) mod registers;

/// Does `work` in the widest registers.
pub(crate) fn wide<R>(work: impl FnMut() -> R) -> R {
    struct Work<F>(F);
    impl<R, F: FnMut() -> R> pulp::NullaryFnOnce for Work<F> {
        type Output = R;

        #[inline(always)]
        fn call(mut self) -> R {
            (self.0)()
        }
    }
    wide_work(Work(work))
}

/// [`wide`] for work that is a type of its own.
#[inline]
pub(crate) fn wide_work<W: pulp::NullaryFnOnce>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        return v3.vectorize(work);
    }
    work.call()
}

/// The array of what `of` gives for each place.
#[inline(always)]
pub(crate) fn by_place<T: Copy + Default, const N: usize>(of: impl Fn(usize) -> T) -> [T; N] {
    let mut all = [T::default(); N];
    for (place, value) in all.iter_mut().enumerate() {
        *value = of(place);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    // Inlined, or both sides would be the same narrow function.
    #[inline(always)]
    fn sums(values: &[f32]) -> [f32; 16] {
        let mut sums = [0f32; 16];
        for lane in values.as_chunks::<16>().0 {
            for i in 0..16 {
                sums[i] += 0.1 * lane[i];
            }
        }
        sums
    }

    #[test]
    fn the_bits_are_those_of_narrow_registers() {
        let values: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.37).sin()).collect();
        let broad = wide(
            #[inline(always)]
            || sums(&values),
        );
        assert_eq!(broad, sums(&values));
    }
}
