//! Books that remember what was passed to them.

use std::sync::Mutex;

use super::*;

#[derive(Default)]
pub(super) struct FakeBooks(Mutex<Noted>);

#[derive(Default)]
struct Noted {
    unstored: usize,
    stored: usize,
    wanted: Vec<RowFilter>,
    bases: Vec<(RowFilter, i128)>,
    table: KeyTable,
    prices: Vec<(PriceId, String)>,
}

impl FakeBooks {
    pub(super) fn stored(&self) -> usize {
        self.0.lock().unwrap().stored
    }

    pub(super) fn unstored(&self) -> usize {
        self.0.lock().unwrap().unstored
    }

    pub(super) fn want(&self, filter: RowFilter) {
        self.0.lock().unwrap().wanted.push(filter);
    }

    pub(super) fn base(&self, filter: &RowFilter) -> Option<i128> {
        let noted = self.0.lock().unwrap();
        noted.bases.iter().rev().find(|(known, _)| known == filter).map(|(_, usd)| *usd)
    }

    pub(super) fn key_names(&self) -> Vec<String> {
        let noted = self.0.lock().unwrap();
        let valid = noted.table.keys.iter().filter(|key| key.revoked_ms.is_none());
        valid.map(|key| key.name.clone()).collect()
    }

    pub(super) fn add_price(&self, id: &str, json: &str) {
        self.0.lock().unwrap().prices.push((id.to_owned(), json.to_owned()));
    }
}

impl Books for FakeBooks {
    fn add_unstored(&self, _: &LedgerRow) {
        self.0.lock().unwrap().unstored += 1;
    }

    fn rows_stored(&self, rows: &[LedgerRow]) {
        self.0.lock().unwrap().stored += rows.len();
    }

    fn wanted(&self, _: Option<&KeyTable>, all: bool) -> Vec<RowFilter> {
        let noted = self.0.lock().unwrap();
        let is_known = |filter: &RowFilter| noted.bases.iter().any(|(known, _)| known == filter);
        noted.wanted.iter().filter(|filter| all || !is_known(filter)).cloned().collect()
    }

    fn set_base(&self, sum: &RowFilter, usd: Usd) {
        self.0.lock().unwrap().bases.push((sum.clone(), usd.picos()));
    }

    fn set_keys(&self, table: KeyTable) {
        self.0.lock().unwrap().table = table;
    }

    fn take_prices(&self) -> Vec<(PriceId, String)> {
        std::mem::take(&mut self.0.lock().unwrap().prices)
    }

    fn put_back_prices(&self, prices: Vec<(PriceId, String)>) {
        self.0.lock().unwrap().prices.extend(prices);
    }
}
