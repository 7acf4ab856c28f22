//! Which call goes wrong.

use std::str::FromStr;

use agentloop::Error;

use super::{Fault, parse_list};

/// What goes wrong with which call: a fault for the first call, for the second, and so on.
///
/// Every call counts, of whatever kind. A call that asks for faults of its own gets those instead.
///
/// ```
/// use agentloop_sim::{Fault, Faults};
///
/// // Fails twice, then answers.
/// let faults = Faults::in_order([Some(Fault::status(500)), Some(Fault::status(429))]);
/// assert_eq!(faults, "status=500 | status=429".parse()?);
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    in_order: Vec<Vec<Fault>>,
    then: Vec<Fault>,
    /// Whether the list begins again after its end.
    again: bool,
}

impl Faults {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// Every call goes wrong.
    pub fn always(fault: Fault) -> Self {
        Self::none().then_always(fault)
    }

    /// These for the first calls (`None` leaves a call alone); later calls go well.
    pub fn in_order(faults: impl IntoIterator<Item = Option<Fault>>) -> Self {
        let in_order = faults.into_iter().map(Vec::from_iter).collect();
        Self { in_order, ..Self::none() }
    }

    /// The same, and from the beginning again after the last of them, for as long as there are calls.
    ///
    /// ```
    /// use agentloop_sim::Faults;
    ///
    /// // Every second call fails.
    /// let faults: Faults = "status=500|".parse()?;
    /// let faults = faults.over_and_over();
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    #[must_use]
    pub fn over_and_over(mut self) -> Self {
        self.again = true;
        self
    }

    /// The same fault for the first `calls` calls.
    pub fn first(calls: usize, fault: Fault) -> Self {
        Self { in_order: vec![vec![fault]; calls], ..Self::none() }
    }

    /// The same, and this for every call after the listed ones.
    #[must_use]
    pub fn then_always(mut self, fault: Fault) -> Self {
        self.then.push(fault);
        self
    }

    /// What goes wrong with a call, counted from 1.
    pub(crate) fn of_call(&self, call: u64) -> &[Fault] {
        let turn = usize::try_from(call.saturating_sub(1)).ok();
        let turn = match turn {
            Some(turn) if self.again => turn.checked_rem(self.in_order.len()),
            turn => turn,
        };
        turn.and_then(|at| self.in_order.get(at)).unwrap_or(&self.then)
    }
}

impl FromStr for Faults {
    type Err = Error;

    /// Reads what goes wrong with each call, separated by `|`. An empty place leaves its call alone.
    fn from_str(text: &str) -> Result<Self, Error> {
        let in_order = text.split('|').map(parse_list).collect::<Result<_, _>>()?;
        Ok(Self { in_order, ..Self::none() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_gets_the_fault_of_its_place() {
        let faults: Faults = "status=500||drip;html".parse().unwrap();
        assert_eq!(faults.of_call(1), [Fault::status(500)]);
        assert_eq!(faults.of_call(2), []);
        assert_eq!(faults.of_call(3), [Fault::Drip, Fault::Html]);
        assert_eq!(faults.of_call(4), []);
    }

    #[test]
    fn what_always_happens_comes_after_the_list() {
        let faults = Faults::first(2, Fault::Html).then_always(Fault::Refuse);
        assert_eq!(faults.of_call(2), [Fault::Html]);
        assert_eq!(faults.of_call(99), [Fault::Refuse]);
    }

    #[test]
    fn a_list_can_begin_again() {
        let faults = "status=500||drip".parse::<Faults>().unwrap().over_and_over();
        assert_eq!(faults.of_call(4), [Fault::status(500)]);
        assert_eq!(faults.of_call(5), []);
        assert_eq!(faults.of_call(9), [Fault::Drip]);
        assert_eq!(Faults::none().over_and_over().of_call(7), []);
    }
}
