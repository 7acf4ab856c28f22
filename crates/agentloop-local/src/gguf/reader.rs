//! Reads the values of a GGUF file. Every length is compared with what is left of the file before anything is allocated.

use std::io::Read;

use crate::limits::MAX_GGUF_HEAD_BYTES;

/// How deep arrays may contain arrays.
const MAX_ARRAY_DEPTH: usize = 4;

/// A value of the metadata. Arrays and floats are skipped, because nothing here needs them.
#[derive(Debug, PartialEq)]
pub(super) enum Value {
    Number(u64),
    Bool(bool),
    Text(String),
    Other,
}

/// A reader that knows how much of the file is left.
#[derive(Debug)]
pub(super) struct Reader<R> {
    inner: R,
    length: u64,
    position: u64,
}

type Read1<T> = Result<T, String>;

impl<R: Read> Reader<R> {
    pub(super) fn new(inner: R, length: u64) -> Self {
        Self { inner, length, position: 0 }
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Claims the next bytes of the head, if the file and the limit have them.
    fn claim(&mut self, bytes: u64) -> Read1<()> {
        let end = self.position.checked_add(bytes).ok_or("a length is too large")?;
        if end > self.length {
            return Err(format!("it ends after {} bytes, inside its head", self.length));
        }
        if end > MAX_GGUF_HEAD_BYTES {
            return Err(format!("its head is larger than {MAX_GGUF_HEAD_BYTES} bytes"));
        }
        self.position = end;
        Ok(())
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> Read1<[u8; N]> {
        self.claim(N as u64)?;
        let mut bytes = [0; N];
        self.inner.read_exact(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    pub(super) fn u32(&mut self) -> Read1<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Read1<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// Reads a number of things, of which there may be at most `most`.
    pub(super) fn count(&mut self, most: u64, what: &str) -> Read1<u64> {
        let count = self.u64()?;
        match count <= most {
            true => Ok(count),
            false => Err(format!("it claims to have {count} {what}")),
        }
    }

    pub(super) fn text(&mut self) -> Read1<String> {
        let length = self.u64()?;
        self.claim(length)?;
        let mut bytes = vec![0; usize::try_from(length).map_err(|error| error.to_string())?];
        self.inner.read_exact(&mut bytes).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|_| "a text of it is not UTF-8".to_owned())
    }

    fn skip(&mut self, bytes: u64) -> Read1<()> {
        self.claim(bytes)?;
        let skipped = std::io::copy(&mut (&mut self.inner).take(bytes), &mut std::io::sink())
            .map_err(|error| error.to_string())?;
        match skipped == bytes {
            true => Ok(()),
            false => Err("it is shorter than the file system reported".to_owned()),
        }
    }

    pub(super) fn value(&mut self) -> Read1<Value> {
        let kind = self.u32()?;
        self.value_of(kind, 0)
    }

    fn value_of(&mut self, kind: u32, depth: usize) -> Read1<Value> {
        Ok(match kind {
            0 => Value::Number(u64::from(self.bytes::<1>()?[0])),
            // A negative number has no meaning in any field that is read here.
            1 => signed(i64::from(i8::from_le_bytes(self.bytes()?))),
            2 => Value::Number(u64::from(u16::from_le_bytes(self.bytes()?))),
            3 => signed(i64::from(i16::from_le_bytes(self.bytes()?))),
            4 => Value::Number(u64::from(self.u32()?)),
            5 => signed(i64::from(i32::from_le_bytes(self.bytes()?))),
            6 => {
                self.bytes::<4>()?;
                Value::Other
            }
            7 => Value::Bool(self.bytes::<1>()?[0] != 0),
            // A text of a vocabulary need not be UTF-8; the engine takes it as bytes. It is skipped inside arrays.
            8 if depth > 0 => {
                let length = self.u64()?;
                self.skip(length)?;
                Value::Other
            }
            8 => Value::Text(self.text()?),
            9 if depth < MAX_ARRAY_DEPTH => self.array(depth + 1)?,
            10 => Value::Number(self.u64()?),
            11 => signed(i64::from_le_bytes(self.bytes()?)),
            12 => {
                self.bytes::<8>()?;
                Value::Other
            }
            _ => return Err(format!("a value of its metadata has the unknown type {kind}")),
        })
    }

    fn array(&mut self, depth: usize) -> Read1<Value> {
        let kind = self.u32()?;
        let count = self.u64()?;
        let size: u64 = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            // Every element has at least its length, so the count is bounded by the file.
            _ => {
                if count.checked_mul(8).is_none_or(|bytes| bytes > self.length - self.position) {
                    return Err(format!("an array claims to have {count} elements"));
                }
                for _ in 0..count {
                    self.value_of(kind, depth)?;
                }
                return Ok(Value::Other);
            }
        };
        self.skip(count.checked_mul(size).ok_or("an array is too large")?)?;
        Ok(Value::Other)
    }
}

fn signed(number: i64) -> Value {
    u64::try_from(number).map_or(Value::Other, Value::Number)
}
