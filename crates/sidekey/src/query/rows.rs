//! The rows of a query, as a stream.

use super::candidates::Candidates;
use super::newest;
use super::view::QueryView;
use crate::base::error::Result;
use crate::query::types::{Order, Read, Row};
use crate::tree::KeyRange;

/// Rows in the order asked for: streamed in index order, collected in sqn order.
pub(crate) enum RowStream {
    /// By attribute and primary key.
    Streamed { view: Box<QueryView>, candidates: Box<Candidates>, read: Read, left: usize },
    /// Already there.
    Collected(std::vec::IntoIter<Row>),
    /// An error ended it.
    Ended,
}

impl RowStream {
    /// Starts a query. `Order::Key` is only for one value, whose entries stand in primary key order.
    pub fn start(
        view: QueryView,
        bounds: KeyRange,
        order: Order,
        reverse: bool,
        limit: Option<usize>,
        read: Read,
    ) -> Result<RowStream> {
        match order {
            Order::Newest => {
                let candidates = Candidates::new(&view, bounds, false);
                Ok(Self::Collected(newest::collect(&view, candidates, limit, reverse, read)?.into_iter()))
            }
            Order::Attribute | Order::Key => {
                let candidates = Box::new(Candidates::new(&view, bounds, reverse));
                Ok(Self::Streamed { view: Box::new(view), candidates, read, left: limit.unwrap_or(usize::MAX) })
            }
        }
    }

    fn step(&mut self) -> Result<Option<Row>> {
        match self {
            Self::Ended => Ok(None),
            Self::Collected(rows) => Ok(rows.next()),
            Self::Streamed { view, candidates, read, left } => {
                while *left > 0 {
                    let Some(candidate) = candidates.next()? else { break };
                    if let Some(row) = view.resolve(candidate, *read)? {
                        *left -= 1;
                        return Ok(Some(row));
                    }
                }
                *left = 0;
                Ok(None)
            }
        }
    }
}

impl Iterator for RowStream {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.step() {
            Ok(row) => row.map(Ok),
            Err(e) => {
                *self = Self::Ended;
                Some(Err(e))
            }
        }
    }
}
