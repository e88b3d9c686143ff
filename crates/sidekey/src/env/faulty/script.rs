//! Which operations fail, and how.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use super::Operation;

/// The operating system's number for a failed device.
const EIO: i32 = Errno::IO.raw_os_error();

/// The operating system's number for a full device.
const ENOSPC: i32 = Errno::NOSPC.raw_os_error();

/// What happens to an operation that a [`FaultRule`] hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails with an error of this kind and has no effect.
    Error(io::ErrorKind),
    /// It fails with this number of the operating system's and has no effect.
    Os(i32),
    /// A write writes the first half of its bytes, then fails with this number. Any other operation fails as with [`Fault::Os`].
    ShortWrite(i32),
    /// A sync does nothing and says that all is well. Any other operation is left alone.
    LostSync,
    /// A read returns its bytes with one bit flipped. Any other operation is left alone.
    FlipBit,
}

impl Fault {
    /// A failed device.
    pub const EIO: Fault = Fault::Os(EIO);
    /// A full device, before the first byte.
    pub const ENOSPC: Fault = Fault::Os(ENOSPC);
    /// A device that fails in the middle of a write.
    pub const SHORT_WRITE_EIO: Fault = Fault::ShortWrite(EIO);
    /// A device that is full in the middle of a write.
    pub const SHORT_WRITE_ENOSPC: Fault = Fault::ShortWrite(ENOSPC);

    /// The error that the operation returns; none if the fault is a lie instead.
    pub(super) fn error(self) -> Option<io::Error> {
        match self {
            Fault::Error(kind) => Some(kind.into()),
            Fault::Os(number) | Fault::ShortWrite(number) => Some(io::Error::from_raw_os_error(number)),
            Fault::LostSync | Fault::FlipBit => None,
        }
    }
}

/// Which operations a fault hits: the `nth` of those that match all that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRule {
    fault: Fault,
    operation: Option<Operation>,
    part: Option<String>,
    suffix: Option<String>,
    nth: u64,
    for_ever: bool,
}

impl FaultRule {
    /// Hits the first operation of any kind on any path, once.
    pub fn new(fault: Fault) -> Self {
        Self { fault, operation: None, part: None, suffix: None, nth: 1, for_ever: false }
    }

    /// Only operations of this kind.
    pub fn on(mut self, operation: Operation) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Only on paths that contain `part`. A rename or link goes by its new path.
    pub fn path_contains(mut self, part: &str) -> Self {
        self.part = Some(part.to_owned());
        self
    }

    /// Only on paths that end in `suffix`.
    pub fn path_ends(mut self, suffix: &str) -> Self {
        self.suffix = Some(suffix.to_owned());
        self
    }

    /// The `nth` match since the script was installed, from 1.
    pub fn nth(mut self, nth: u64) -> Self {
        self.nth = nth;
        self
    }

    /// That match and all later ones.
    pub fn from_then_on(mut self) -> Self {
        self.for_ever = true;
        self
    }

    fn matches(&self, operation: Operation, path: &str) -> bool {
        self.operation.is_none_or(|wanted| wanted == operation)
            && self.part.as_ref().is_none_or(|part| path.contains(part))
            && self.suffix.as_ref().is_none_or(|suffix| path.ends_with(suffix))
    }
}

/// A list of rules; where several hit one operation, the first of them decides, and all count it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultScript {
    rules: Vec<FaultRule>,
}

impl FaultScript {
    /// No faults.
    pub fn none() -> Self {
        Self::default()
    }

    /// The `nth` operation of any kind, from 1, fails once.
    pub fn fail_nth(nth: u64, fault: Fault) -> Self {
        Self::none().rule(FaultRule::new(fault).nth(nth))
    }

    /// The `nth` operation of any kind, from 1, and all later ones fail.
    pub fn fail_from(nth: u64, fault: Fault) -> Self {
        Self::none().rule(FaultRule::new(fault).nth(nth).from_then_on())
    }

    /// Adds a rule.
    pub fn rule(mut self, rule: FaultRule) -> Self {
        self.rules.push(rule);
        self
    }
}

/// A script with how often each rule matched.
#[derive(Debug, Default)]
pub(super) struct RunningScript {
    rules: Vec<(FaultRule, u64)>,
}

impl RunningScript {
    pub fn new(script: FaultScript) -> Self {
        Self { rules: script.rules.into_iter().map(|rule| (rule, 0)).collect() }
    }

    pub fn decide(&mut self, operation: Operation, path: &Path) -> Option<Fault> {
        if self.rules.is_empty() {
            return None;
        }
        let path = path.to_string_lossy();
        let mut decided = None;
        for (rule, matched) in self.rules.iter_mut().filter(|(rule, _)| rule.matches(operation, &path)) {
            *matched += 1;
            let hit = *matched == rule.nth || (rule.for_ever && *matched > rule.nth);
            if hit && decided.is_none() {
                decided = Some(rule.fault);
            }
        }
        decided
    }
}
