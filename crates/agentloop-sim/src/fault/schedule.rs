//! Schedules of faults.

use std::str::FromStr;

use agentloop::Error;

use super::{Fault, parse_list};

/// A schedule of faults: which request fails, by its number.
///
/// Requests of all kinds are counted. Faults of a request or of a scripted response take precedence over the schedule.
///
/// ```
/// use agentloop_sim::{Fault, Faults};
///
/// // The first two requests fail.
/// let faults = Faults::in_order([Some(Fault::status(500)), Some(Fault::status(429))]);
/// assert_eq!(faults, "status=500 | status=429".parse()?);
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    in_order: Vec<Vec<Fault>>,
    then: Vec<Fault>,
    /// Whether the list starts again after its end.
    is_cyclic: bool,
}

impl Faults {
    /// Creates a schedule without faults.
    pub fn none() -> Self {
        Self::default()
    }

    /// Creates a schedule with this fault for every request.
    pub fn always(fault: Fault) -> Self {
        Self::none().then_always(fault)
    }

    /// Creates a schedule with these faults for the first requests. `None` is a request without a fault, and so are all requests
    /// after the list.
    pub fn in_order(faults: impl IntoIterator<Item = Option<Fault>>) -> Self {
        let in_order = faults.into_iter().map(Vec::from_iter).collect();
        Self { in_order, ..Self::none() }
    }

    agentloop::setters! {
        /// Repeats the list of faults without end.
        ///
        /// ```
        /// use agentloop_sim::Faults;
        ///
        /// // Every second request fails.
        /// let faults: Faults = "status=500|".parse()?;
        /// let faults = faults.cycle();
        /// # Ok::<(), agentloop::Error>(())
        /// ```
        cycle(self) => self.is_cyclic = true;
    }

    /// Creates a schedule with this fault for the first `requests` requests.
    ///
    /// ```
    /// use agentloop_sim::{Fault, Faults};
    ///
    /// let faults = Faults::first(2, Fault::status(503));
    /// assert_eq!(faults, "status=503|status=503".parse()?);
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn first(requests: usize, fault: Fault) -> Self {
        Self { in_order: vec![vec![fault]; requests], ..Self::none() }
    }

    agentloop::setters! {
        /// Adds a fault for every request after the list.
        then_always(self, fault: Fault) => self.then.push(fault);
    }

    /// Returns the faults of a request by its number, which starts at 1.
    pub(crate) fn of_call(&self, call: u64) -> &[Fault] {
        let index = usize::try_from(call.saturating_sub(1)).ok();
        let index = match index {
            Some(index) if self.is_cyclic => index.checked_rem(self.in_order.len()),
            index => index,
        };
        index.and_then(|index| self.in_order.get(index)).unwrap_or(&self.then)
    }
}

impl FromStr for Faults {
    type Err = Error;

    /// Parses the faults of each request, separated by `|`. An empty entry is a request without a fault.
    fn from_str(text: &str) -> Result<Self, Error> {
        let in_order = text.split('|').map(parse_list).collect::<Result<_, _>>()?;
        Ok(Self { in_order, ..Self::none() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_gets_the_faults_of_its_entry() {
        let faults: Faults = "status=500||drip;html".parse().unwrap();
        assert_eq!(faults.of_call(1), [Fault::status(500)]);
        assert_eq!(faults.of_call(2), []);
        assert_eq!(faults.of_call(3), [Fault::Drip, Fault::Html]);
        assert_eq!(faults.of_call(4), []);
    }

    #[test]
    fn the_fault_of_all_later_requests_follows_the_list() {
        let faults = Faults::first(2, Fault::Html).then_always(Fault::Refuse);
        assert_eq!(faults.of_call(2), [Fault::Html]);
        assert_eq!(faults.of_call(99), [Fault::Refuse]);
    }

    #[test]
    fn a_cyclic_list_starts_again() {
        let faults = "status=500||drip".parse::<Faults>().unwrap().cycle();
        assert_eq!(faults.of_call(4), [Fault::status(500)]);
        assert_eq!(faults.of_call(5), []);
        assert_eq!(faults.of_call(9), [Fault::Drip]);
        assert_eq!(Faults::none().cycle().of_call(7), []);
    }
}
