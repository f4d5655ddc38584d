//! Rows of topics, sixteen at a time.
//!
//! Products and sums are rounded one by one and summed in one fixed order, so the bits do not depend on the processor. As for
//! word vectors, what the compiler makes of plain arrays it takes apart into single floats, so the registers are spelled out.

/// Topics of a lane.
pub(super) const WIDTH: usize = 16;

/// Sixteen topics; rows are padded with zeros to whole lanes.
pub(super) type Lane = [f32; WIDTH];

/// Lanes for so many topics.
pub(super) fn lanes(topics: usize) -> usize {
    topics.div_ceil(WIDTH)
}

/// How a lane is held and worked on.
pub(super) trait Registers: Copy {
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
}

/// Work to be done in some registers; only what is inlined into it is compiled for them.
pub(super) trait Work {
    /// What it gives.
    type Output;
    /// Does it.
    fn run<V: Registers>(self, registers: V) -> Self::Output;
}

/// Does `work` in the widest registers of the processor.
pub(super) fn wide<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        return v3.vectorize(On { work, registers: v3 });
    }
    pulp::NullaryFnOnce::call(On { work, registers: Plain })
}

/// Work and its registers.
struct On<W, V> {
    work: W,
    registers: V,
}

impl<W: Work, V: Registers> pulp::NullaryFnOnce for On<W, V> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.work.run(self.registers)
    }
}

/// Registers the compiler chooses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain;

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
        std::array::from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn multiply(self, a: Lane, b: Lane) -> Lane {
        std::array::from_fn(|i| a[i] * b[i])
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
}

/// The sum of a lane, in one fixed order.
#[inline(always)]
pub(super) fn fold(lane: &Lane) -> f32 {
    let eight: [f32; 8] = std::array::from_fn(|i| lane[i] + lane[i + 8]);
    let four: [f32; 4] = std::array::from_fn(|i| eight[i] + eight[i + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}
