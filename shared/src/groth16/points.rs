//! Curve points as bytes: bellperson's uncompressed encoding, read in parallel and checked.

use group::UncompressedEncoding;
use group::prime::PrimeCurveAffine;
use rayon::prelude::*;

use super::KeyError;

/// How far a key's points are checked when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Everything: encoding, on the curve, in the subgroup, not identity.
    Full,
    /// All but the subgroup of the queries, which costs nearly all the time: for a file whose digest was checked once.
    Trusted,
}

/// What is wrong with a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PointFault {
    /// The bytes encode no point of the curve.
    #[error("does not encode a point of the curve")]
    Encoding,
    /// The point is on the curve, outside the group of prime order.
    #[error("is outside the prime-order subgroup")]
    Subgroup,
    /// The point is the identity, where none may be.
    #[error("is the point at infinity")]
    Identity,
}

/// The two top bits of a point's first byte say "compressed" and "identity"; the third, in compressed points, the sign.
const FLAG_BITS: u8 = 0b1110_0000;
const IDENTITY_FLAG: u8 = 0b0100_0000;

/// Length of one uncompressed point.
pub(crate) fn uncompressed_bytes<P: UncompressedEncoding>() -> usize {
    P::Uncompressed::default().as_ref().len()
}

/// Reads one uncompressed point.
pub(crate) fn read_point<P>(bytes: &[u8], check: Check) -> Result<P, PointFault>
where
    P: UncompressedEncoding + PrimeCurveAffine,
{
    // The library would take a compressed point here, and leave half of the bytes unread.
    match bytes.first().map_or(FLAG_BITS, |byte| byte & FLAG_BITS) {
        0 => {}
        IDENTITY_FLAG => return Err(PointFault::Identity),
        _ => return Err(PointFault::Encoding),
    }
    let mut encoding = P::Uncompressed::default();
    encoding.as_mut().copy_from_slice(bytes);
    let on_curve = || Option::<P>::from(P::from_uncompressed_unchecked(&encoding));
    let point = match check {
        Check::Full => Option::<P>::from(P::from_uncompressed(&encoding)),
        Check::Trusted => on_curve(),
    };
    match point {
        Some(point) if bool::from(point.is_identity()) => Err(PointFault::Identity),
        Some(point) => Ok(point),
        None if on_curve().is_some() => Err(PointFault::Subgroup),
        None => Err(PointFault::Encoding),
    }
}

/// Reads uncompressed points that lie one after another, on all cores.
pub(crate) fn read_points<P>(
    field: &'static str,
    bytes: &[u8],
    check: Check,
) -> Result<Vec<P>, KeyError>
where
    P: UncompressedEncoding + PrimeCurveAffine,
{
    let size = uncompressed_bytes::<P>();
    let mut points = vec![P::identity(); bytes.len() / size];
    points
        .par_iter_mut()
        .zip(bytes.par_chunks_exact(size))
        .enumerate()
        .try_for_each(|(index, (point, bytes))| {
            *point = read_point(bytes, check).map_err(|fault| KeyError::Point {
                field,
                index,
                fault,
            })?;
            Ok(())
        })?;
    Ok(points)
}
