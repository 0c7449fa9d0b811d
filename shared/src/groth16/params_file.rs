//! bellperson's `.params` layout: uncompressed big-endian points, 32-bit counts.

use std::path::Path;

use blstrs::{G1Affine, G2Affine};
use group::prime::PrimeCurveAffine;
use rayon::prelude::*;
use subtle::CtOption;

use super::{KeyError, ProvingKey, VerifyingKey, mapped};
use crate::protocol::Digest;

const G1_LEN: usize = 96;
const G2_LEN: usize = 192;

/// How much of a key is checked while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Everything: on the curve, in the subgroup, no identity, γ ≠ δ.
    Full,
    /// Layout only: for a file whose digest was checked in full before.
    Trusted,
}

pub(super) fn digest(bytes: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(bytes);
    Digest(*hasher.finalize().as_bytes())
}

/// A point as the file holds it.
trait Encoded: PrimeCurveAffine + Send + Sync {
    const LEN: usize;
    fn write(&self, out: &mut Vec<u8>);
    fn read(bytes: &[u8], check: Check) -> Option<Self>;
    fn is_in_subgroup(bytes: &[u8]) -> bool;
}

fn decode<P, const N: usize>(bytes: &[u8], read: impl Fn(&[u8; N]) -> CtOption<P>) -> Option<P> {
    read(bytes.try_into().ok()?).into()
}

impl Encoded for G1Affine {
    const LEN: usize = G1_LEN;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_uncompressed());
    }

    fn read(bytes: &[u8], check: Check) -> Option<Self> {
        match check {
            Check::Full => decode(bytes, Self::from_uncompressed),
            Check::Trusted => decode(bytes, Self::from_uncompressed_unchecked),
        }
    }

    fn is_in_subgroup(bytes: &[u8]) -> bool {
        decode(bytes, Self::from_uncompressed_unchecked)
            .is_some_and(|point| bool::from(point.is_on_curve()))
    }
}

impl Encoded for G2Affine {
    const LEN: usize = G2_LEN;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_uncompressed());
    }

    fn read(bytes: &[u8], check: Check) -> Option<Self> {
        match check {
            Check::Full => decode(bytes, Self::from_uncompressed),
            Check::Trusted => decode(bytes, Self::from_uncompressed_unchecked),
        }
    }

    fn is_in_subgroup(bytes: &[u8]) -> bool {
        decode(bytes, Self::from_uncompressed_unchecked)
            .is_some_and(|point| bool::from(point.is_on_curve()))
    }
}

fn write_query<P: Encoded>(out: &mut Vec<u8>, points: &[P]) {
    out.extend_from_slice(
        &u32::try_from(points.len())
            .unwrap_or(u32::MAX)
            .to_be_bytes(),
    );
    points.iter().for_each(|point| point.write(out));
}

pub(super) fn write_verifying_key(out: &mut Vec<u8>, vk: &VerifyingKey) {
    vk.alpha_g1.write(out);
    vk.beta_g1.write(out);
    vk.beta_g2.write(out);
    vk.gamma_g2.write(out);
    vk.delta_g1.write(out);
    vk.delta_g2.write(out);
    write_query(out, &vk.ic);
}

pub(super) fn encode(key: &ProvingKey) -> Vec<u8> {
    let mut out = Vec::with_capacity(key.resident_bytes() + 1024);
    write_verifying_key(&mut out, &key.vk);
    write_query(&mut out, &key.h_query);
    write_query(&mut out, &key.l_query);
    write_query(&mut out, &key.a_query);
    write_query(&mut out, &key.b_g1_query);
    write_query(&mut out, &key.b_g2_query);
    out
}

/// Takes points off the front of a file; lengths are checked before anything is allocated.
struct Reader<'a> {
    rest: &'a [u8],
    check: Check,
}

impl<'a> Reader<'a> {
    fn take(&mut self, field: &'static str, len: usize) -> Result<&'a [u8], KeyError> {
        if len > self.rest.len() {
            let reason = format!(
                "{field} ends beyond the file ({len} bytes wanted, {} left)",
                self.rest.len()
            );
            return Err(KeyError::Malformed { reason });
        }
        let (head, tail) = self.rest.split_at(len);
        self.rest = tail;
        Ok(head)
    }

    fn point<P: Encoded>(&mut self, field: &'static str) -> Result<P, KeyError> {
        let bytes = self.take(field, P::LEN)?;
        read_point(bytes, self.check, field, 0)
    }

    fn query<P: Encoded>(&mut self, field: &'static str) -> Result<Vec<P>, KeyError> {
        let count = self
            .take(field, 4)?
            .try_into()
            .map(u32::from_be_bytes)
            .unwrap_or_default() as usize;
        let bytes = self.take(field, count.saturating_mul(P::LEN))?;
        let check = self.check;
        let read = |(index, bytes)| read_point(bytes, check, field, index);
        bytes
            .par_chunks_exact(P::LEN)
            .enumerate()
            .map(read)
            .collect()
    }
}

fn read_point<P: Encoded>(
    bytes: &[u8],
    check: Check,
    field: &'static str,
    index: usize,
) -> Result<P, KeyError> {
    let fault = |fault| KeyError::Point {
        field,
        index,
        fault,
    };
    let point = P::read(bytes, check).ok_or_else(|| {
        fault(if P::is_in_subgroup(bytes) {
            "is not in the subgroup"
        } else {
            "is not on the curve"
        })
    })?;
    if check == Check::Full && bool::from(point.is_identity()) {
        return Err(fault("is the identity"));
    }
    Ok(point)
}

pub(super) fn open(path: &Path, check: Check) -> Result<ProvingKey, KeyError> {
    let file = |source| KeyError::File {
        path: path.display().to_string(),
        source,
    };
    read(&mapped::map(path).map_err(file)?, check)
}

/// Reads a key from the bytes of its file.
pub(super) fn read(bytes: &[u8], check: Check) -> Result<ProvingKey, KeyError> {
    let mut reader = Reader { rest: bytes, check };
    let vk = VerifyingKey {
        alpha_g1: reader.point("alpha in G1")?,
        beta_g1: reader.point("beta in G1")?,
        beta_g2: reader.point("beta in G2")?,
        gamma_g2: reader.point("gamma in G2")?,
        delta_g1: reader.point("delta in G1")?,
        delta_g2: reader.point("delta in G2")?,
        ic: reader.query("ic")?,
    };
    let key = ProvingKey {
        vk,
        h_query: reader.query("the h query")?,
        l_query: reader.query("the l query")?,
        a_query: reader.query("the a query")?,
        b_g1_query: reader.query("the b query in G1")?,
        b_g2_query: reader.query("the b query in G2")?,
        digest: digest(bytes),
    };
    if !reader.rest.is_empty() {
        return Err(KeyError::Malformed {
            reason: format!("{} bytes follow its end", reader.rest.len()),
        });
    }
    if key.vk.ic.is_empty() {
        return Err(KeyError::Malformed {
            reason: "ic is empty: it lacks the input that is one".into(),
        });
    }
    if check == Check::Full {
        key.check_soundness()?;
    }
    Ok(key)
}
