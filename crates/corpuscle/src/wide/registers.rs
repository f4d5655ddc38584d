//! Rows of sixteen-float lanes in registers that are spelled out, because what the compiler makes of plain arrays it takes apart
//! into single floats.
//!
//! Every operation is rounded once on every processor, and a lane is summed up in one fixed order, so the bits are the same
//! whatever instructions there are. All of it is inlined into some [`Work`], which is compiled twice: for AVX2, and for
//! processors without it.

use super::by_place;

/// Floats of a lane.
pub(crate) const WIDTH: usize = 16;

/// Sixteen neighbouring floats of a row; rows are padded with zeros to whole lanes.
pub(crate) type Lane = [f32; WIDTH];

/// Lanes of a row of so many floats.
pub(crate) fn lanes(floats: usize) -> usize {
    floats.div_ceil(WIDTH)
}

/// How a lane is held and worked on.
pub(crate) trait Registers: Copy {
    /// A lane in registers.
    type Wide: Copy;
    /// Sixteen times the same.
    fn splat(self, value: f32) -> Self::Wide;
    /// A lane from memory.
    fn load(self, lane: &Lane) -> Self::Wide;
    /// A lane of whole numbers from memory.
    fn load_counts(self, lane: &[i32; WIDTH]) -> Self::Wide;
    /// A lane to memory.
    fn store(self, wide: Self::Wide, lane: &mut Lane);
    /// `a + b`.
    fn add(self, a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// `a · b`.
    fn multiply(self, a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// `sum + a · b`, rounded once.
    fn multiply_add(self, a: Self::Wide, b: Self::Wide, sum: Self::Wide) -> Self::Wide;

    /// The sum of a lane, in one fixed order.
    #[inline(always)]
    fn total(self, wide: Self::Wide) -> f32 {
        let mut lane = [0f32; WIDTH];
        self.store(wide, &mut lane);
        fold(&lane)
    }
}

/// The sum of a lane in memory, in the order of [`Registers::total`].
#[inline(always)]
pub(crate) fn fold(lane: &Lane) -> f32 {
    let eight: [f32; 8] = by_place(|i| lane[i] + lane[i + 8]);
    let four: [f32; 4] = by_place(|i| eight[i] + eight[i + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

/// Work to be done in some registers; only what is inlined into it is compiled for them, which is why it is a type and not a
/// closure.
pub(crate) trait Work {
    /// What it gives.
    type Output;
    /// Does it.
    fn run<V: Registers>(self, registers: V) -> Self::Output;
}

/// Does `work` in the widest registers of the processor.
pub(crate) fn on_registers<W: Work>(work: W) -> W::Output {
    struct On<W, V>(W, V);
    impl<W: Work, V: Registers> pulp::NullaryFnOnce for On<W, V> {
        type Output = W::Output;

        #[inline(always)]
        fn call(self) -> W::Output {
            self.0.run(self.1)
        }
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        return v3.vectorize(On(work, v3));
    }
    pulp::NullaryFnOnce::call(On(work, Plain))
}

/// Registers the compiler chooses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain;

impl Registers for Plain {
    type Wide = Lane;

    #[inline(always)]
    fn splat(self, value: f32) -> Lane {
        [value; WIDTH]
    }

    #[inline(always)]
    fn load(self, lane: &Lane) -> Lane {
        *lane
    }

    #[inline(always)]
    fn load_counts(self, lane: &[i32; WIDTH]) -> Lane {
        lane.map(|count| count as f32)
    }

    #[inline(always)]
    fn store(self, wide: Lane, lane: &mut Lane) {
        *lane = wide;
    }

    #[inline(always)]
    fn add(self, a: Lane, b: Lane) -> Lane {
        by_place(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn multiply(self, a: Lane, b: Lane) -> Lane {
        by_place(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn multiply_add(self, a: Lane, b: Lane, sum: Lane) -> Lane {
        by_place(|i| a[i].mul_add(b[i], sum[i]))
    }
}

#[cfg(target_arch = "x86_64")]
impl Registers for pulp::x86::V3 {
    type Wide = [pulp::f32x8; 2];

    #[inline(always)]
    fn splat(self, value: f32) -> Self::Wide {
        [self.splat_f32x8(value); 2]
    }

    #[inline(always)]
    fn load(self, lane: &Lane) -> Self::Wide {
        pulp::cast(*lane)
    }

    #[inline(always)]
    fn load_counts(self, lane: &[i32; WIDTH]) -> Self::Wide {
        let [low, high]: [pulp::i32x8; 2] = pulp::cast(*lane);
        [self.convert_i32x8_to_f32x8(low), self.convert_i32x8_to_f32x8(high)]
    }

    #[inline(always)]
    fn store(self, wide: Self::Wide, lane: &mut Lane) {
        *lane = pulp::cast(wide);
    }

    #[inline(always)]
    fn add(self, a: Self::Wide, b: Self::Wide) -> Self::Wide {
        [self.add_f32x8(a[0], b[0]), self.add_f32x8(a[1], b[1])]
    }

    #[inline(always)]
    fn multiply(self, a: Self::Wide, b: Self::Wide) -> Self::Wide {
        [self.mul_f32x8(a[0], b[0]), self.mul_f32x8(a[1], b[1])]
    }

    #[inline(always)]
    fn multiply_add(self, a: Self::Wide, b: Self::Wide, sum: Self::Wide) -> Self::Wide {
        [self.mul_add_f32x8(a[0], b[0], sum[0]), self.mul_add_f32x8(a[1], b[1], sum[1])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation on three lanes.
    struct Every<'a>(&'a [Lane; 3], [i32; WIDTH]);

    impl Work for Every<'_> {
        type Output = Vec<Lane>;

        #[inline(always)]
        fn run<V: Registers>(self, v: V) -> Vec<Lane> {
            let [a, b, c] = [v.load(&self.0[0]), v.load(&self.0[1]), v.load(&self.0[2])];
            let all = [v.add(a, b), v.multiply(a, b), v.multiply_add(a, b, c), v.load_counts(&self.1)];
            let mut lanes = vec![[v.total(a); WIDTH]];
            for wide in all.into_iter().chain([v.splat(0.1)]) {
                let mut lane = [0.0; WIDTH];
                v.store(wide, &mut lane);
                lanes.push(lane);
            }
            lanes
        }
    }

    #[test]
    fn both_kinds_of_registers_give_the_same_bits() {
        let lane = |shift: usize| std::array::from_fn(|i| ((i * 37 + shift) % 101) as f32 / 7.0 - 6.1);
        let three = [lane(0), lane(5), lane(11)];
        let counts = std::array::from_fn(|i| i as i32 * 1001 - 7);
        let wide = on_registers(Every(&three, counts));
        assert_eq!(wide, Every(&three, counts).run(Plain));
        assert!((wide[0][0] - three[0].iter().sum::<f32>()).abs() < 1e-4);
        assert_eq!(wide[3][2], three[0][2].mul_add(three[1][2], three[2][2]));
        assert_eq!((lanes(0), lanes(16), lanes(17)), (0, 1, 2));
    }
}
