//! Why a verdict is what it is, as codes that scripts can hold on to and sentences that people read.

/// Why a verdict is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The intervals lie apart.
    Apart,
    /// The intervals overlap.
    Overlap,
    /// The intervals overlap and cannot exclude a change that would matter.
    Wide,
    /// The interval of a side is from its samples' percentiles: it states no confidence interval of the median.
    Percentiles,
    /// The change is there in clock cycles, too.
    Cycles,
    /// In clock cycles the intervals overlap: the clocks explain the change.
    ClocksExplain,
    /// A side does not say at which clocks it ran.
    NoClocks,
    /// The clocks were assumed to be equal.
    ClocksAssumed,
    /// The memory clocks differ.
    MemoryClock,
    /// Something held down the clocks of one side alone.
    Throttled,
    /// A side has no timing.
    NotTimed,
    /// The row ran before and fails now.
    Failed,
    /// A side states neither percentiles nor an interval.
    NoInterval,
    /// A side's time is no time that a clock can give.
    NoTime,
    /// The sides were timed by different sources.
    Source,
    /// The sides ran on different devices.
    Device,
    /// The sides were timed by different policies.
    Policy,
}

impl Reason {
    /// Every reason, in the order of the documentation.
    pub const ALL: [Reason; 17] = [
        Reason::Apart,
        Reason::Overlap,
        Reason::Wide,
        Reason::Percentiles,
        Reason::Cycles,
        Reason::ClocksExplain,
        Reason::NoClocks,
        Reason::ClocksAssumed,
        Reason::MemoryClock,
        Reason::Throttled,
        Reason::NotTimed,
        Reason::Failed,
        Reason::NoInterval,
        Reason::NoTime,
        Reason::Source,
        Reason::Device,
        Reason::Policy,
    ];

    /// The code.
    pub fn code(self) -> &'static str {
        match self {
            Reason::Apart => "intervals-apart",
            Reason::Overlap => "intervals-overlap",
            Reason::Wide => "intervals-wide",
            Reason::Percentiles => "percentiles",
            Reason::Cycles => "cycles-confirm",
            Reason::ClocksExplain => "clocks-explain",
            Reason::NoClocks => "no-clocks",
            Reason::ClocksAssumed => "clocks-assumed",
            Reason::MemoryClock => "memory-clock",
            Reason::Throttled => "throttled",
            Reason::NotTimed => "not-timed",
            Reason::Failed => "failed",
            Reason::NoInterval => "no-interval",
            Reason::NoTime => "no-time",
            Reason::Source => "source-differs",
            Reason::Device => "device-differs",
            Reason::Policy => "policy-differs",
        }
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        match self {
            Reason::Apart => "the intervals of the two medians lie apart",
            Reason::Overlap => "the intervals of the two medians overlap",
            Reason::Wide => "the intervals overlap, and are too wide to exclude a change that matters",
            Reason::Percentiles => {
                "a side states no confidence interval of its median; its tenth and ninetieth percentiles stand for it"
            }
            Reason::Cycles => "counted in clock cycles, the intervals lie apart in the same direction",
            Reason::ClocksExplain => "counted in clock cycles, the change is not there: the clocks differed",
            Reason::NoClocks => "a side does not state its SM clock, so that the clocks may have caused the change",
            Reason::ClocksAssumed => "a side does not state its SM clock; equal clocks were assumed on request",
            Reason::MemoryClock => "the memory clocks differ",
            Reason::Throttled => "the clocks of one side alone were held down",
            Reason::NotTimed => "a side has no timing",
            Reason::Failed => "the row was timed before and fails now",
            Reason::NoInterval => "a side states one number and no interval",
            Reason::NoTime => "a side's time is none that a clock can give",
            Reason::Source => "the times are of different sources",
            Reason::Device => "the times are of different devices",
            Reason::Policy => "the times were taken by different policies",
        }
    }
}
