//! Sealing: what is secret about a job goes to the server encrypted, so that whoever reads the server, its memory dump or
//! its append-only file learns nothing of a witness.
//!
//! The cluster key is configured in every process and never travels. Each job has a random key of its own, which stands
//! beside its input, wrapped under the cluster key, and is deleted with the input when the job ends: from then on what
//! was sealed for the job cannot be read by anybody, save by somebody who has the cluster key and an older copy of the
//! server's data, such as an append-only file that was not rewritten since.
//!
//! Each sealed thing is `PMSEALED`, a random salt, and AES-256-GCM ciphertext with its tag. Its key is derived from the
//! job's key by HKDF-SHA-256 over the salt, so no key ever seals two things; the nonce is the chunk's index. Job,
//! partition, attempt, kind and index are associated data: a sealed entry cannot be passed off as another one.

use std::fmt;

use bytes::Bytes;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::{ExposeSecret, SecretBox, SecretString};

use super::{PayloadEntry, PayloadKey};
use crate::protocol::JobId;

/// Length of a key in bytes.
const KEY_BYTES: usize = 32;

/// Marks what is sealed.
pub(super) const MAGIC: &[u8; 8] = b"PMSEALED";

/// Length of the salt.
const SALT_BYTES: usize = 16;

/// What stands before the ciphertext.
const HEAD_BYTES: usize = MAGIC.len() + SALT_BYTES;

/// Length of the authentication tag.
const TAG_BYTES: usize = 16;

/// Bytes by which sealing makes something larger.
pub(super) const SEAL_OVERHEAD_BYTES: usize = HEAD_BYTES + TAG_BYTES;

/// Why something sealed cannot be made or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// A cluster key of another form.
    #[error(
        "cluster key does not read: expected 64 hexadecimal digits, as `openssl rand -hex 32` prints them"
    )]
    BadKey,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
    /// What was read is not sealed.
    #[error(
        "what stands in the broker is not sealed: set broker.cluster_key in every process of the cluster"
    )]
    NotSealed,
    /// What was read is sealed, and this process has no key.
    #[error(
        "what stands in the broker is sealed: set broker.cluster_key to that of the other processes"
    )]
    NoKey,
    /// The key is another one, or the bytes were changed.
    #[error(
        "what stands in the broker does not open: it was changed, or sealed under another cluster key or for another job"
    )]
    NotOpened,
    /// The job's key is gone.
    #[error("the key of the job is gone: the job has ended")]
    JobKeyGone,
}

/// The key that every process of a cluster is given. Shown nowhere.
pub struct ClusterKey(SecretBox<[u8; KEY_BYTES]>);

/// The key of one job.
pub(super) struct JobKey(SecretBox<[u8; KEY_BYTES]>);

impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterKey(..)")
    }
}

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobKey(..)")
    }
}

impl ClusterKey {
    /// Reads a key: 64 hexadecimal digits, blanks around them allowed.
    ///
    /// # Errors
    /// [`SealError::BadKey`].
    pub fn from_hex(text: &SecretString) -> Result<Self, SealError> {
        let mut key = SecretBox::new(Box::new([0; KEY_BYTES]));
        hex::decode_to_slice(
            text.expose_secret().trim(),
            secrecy::ExposeSecretMut::expose_secret_mut(&mut key),
        )
        .map_err(|_| SealError::BadKey)?;
        Ok(Self(key))
    }

    /// A value by which processes notice that they have different keys; tells nothing of the key.
    #[must_use]
    pub(super) fn fingerprint(&self) -> String {
        hex::encode(
            &derive(
                self.0.expose_secret(),
                b"",
                b"proofmill cluster key fingerprint",
            )[..16],
        )
    }

    /// Wraps a job's key.
    pub(super) fn wrap(&self, job: JobId, key: &JobKey) -> Result<Bytes, SealError> {
        seal(
            self.0.expose_secret(),
            &context(job, b"key"),
            0,
            key.0.expose_secret(),
        )
    }

    /// Unwraps a job's key.
    pub(super) fn unwrap(&self, job: JobId, wrapped: Bytes) -> Result<JobKey, SealError> {
        let opened = open(self.0.expose_secret(), &context(job, b"key"), 0, wrapped)?;
        let key = <[u8; KEY_BYTES]>::try_from(&opened[..]).map_err(|_| SealError::NotOpened)?;
        Ok(JobKey(SecretBox::new(Box::new(key))))
    }
}

impl JobKey {
    /// A new random key.
    pub(super) fn random() -> Result<Self, SealError> {
        Ok(Self(SecretBox::new(Box::new(random()?))))
    }

    /// Seals a job's input.
    pub(super) fn seal_input(&self, job: JobId, input: &[u8]) -> Result<Bytes, SealError> {
        seal(self.0.expose_secret(), &context(job, b"input"), 0, input)
    }

    /// Opens a job's input.
    pub(super) fn open_input(&self, job: JobId, sealed: Bytes) -> Result<Bytes, SealError> {
        open(self.0.expose_secret(), &context(job, b"input"), 0, sealed)
    }

    /// Seals a payload entry.
    pub(super) fn seal_entry(
        &self,
        key: &PayloadKey,
        entry: &PayloadEntry,
    ) -> Result<PayloadEntry, SealError> {
        let (context, index, bytes) = entry_context(key, entry);
        let sealed = seal(self.0.expose_secret(), &context, index, bytes)?;
        Ok(with_bytes(entry, sealed))
    }

    /// Opens a payload entry.
    pub(super) fn open_entry(
        &self,
        key: &PayloadKey,
        entry: PayloadEntry,
    ) -> Result<PayloadEntry, SealError> {
        let (context, index, bytes) = entry_context(key, &entry);
        let bytes = bytes.clone();
        let opened = open(self.0.expose_secret(), &context, index, bytes)?;
        Ok(with_bytes(&entry, opened))
    }
}

/// True if these bytes are sealed. Nothing else that is stored begins so.
pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

fn with_bytes(entry: &PayloadEntry, bytes: Bytes) -> PayloadEntry {
    match entry {
        PayloadEntry::Chunk { index, .. } => PayloadEntry::Chunk {
            index: *index,
            bytes,
        },
        PayloadEntry::Manifest(_) => PayloadEntry::Manifest(bytes),
    }
}

/// What a sealed entry is bound to, the number its nonce is made of, and its bytes.
fn entry_context<'a>(key: &PayloadKey, entry: &'a PayloadEntry) -> (Vec<u8>, u32, &'a Bytes) {
    let (kind, index, bytes): (&[u8], u32, _) = match entry {
        PayloadEntry::Chunk { index, bytes } => (b"chunk", *index, bytes),
        PayloadEntry::Manifest(bytes) => (b"manifest", 0, bytes),
    };
    let mut context = context(key.job, kind);
    context.extend(key.partition.to_be_bytes());
    context.extend(key.attempt.to_be_bytes());
    context.extend(index.to_be_bytes());
    (context, index, bytes)
}

fn context(job: JobId, kind: &[u8]) -> Vec<u8> {
    let mut context = Vec::from(*b"proofmill 1 ");
    context.extend(job.trace_id().to_be_bytes());
    context.extend(kind);
    context
}

fn random<const N: usize>() -> Result<[u8; N], SealError> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| SealError::NoRandom)?;
    Ok(bytes)
}

fn nonce(index: u32) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[NONCE_LEN - 4..].copy_from_slice(&index.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// Length of a derived key, in the form that the library asks for.
struct DerivedLen;

impl KeyType for DerivedLen {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}

fn derive(key: &[u8], salt: &[u8], info: &[u8]) -> [u8; KEY_BYTES] {
    let mut derived = [0; KEY_BYTES];
    let prk = Salt::new(HKDF_SHA256, salt).extract(key);
    let info = [info];
    prk.expand(&info, DerivedLen)
        .and_then(|material| material.fill(&mut derived))
        .expect("a key is one hash long, and HKDF gives up to 255");
    derived
}

fn cipher(key: &[u8], salt: &[u8]) -> Result<LessSafeKey, SealError> {
    let key = UnboundKey::new(&AES_256_GCM, &derive(key, salt, b"proofmill seal"));
    key.map(LessSafeKey::new).map_err(|_| SealError::NotOpened)
}

fn seal(key: &[u8], context: &[u8], index: u32, plain: &[u8]) -> Result<Bytes, SealError> {
    let salt: [u8; SALT_BYTES] = random()?;
    let mut sealed = Vec::with_capacity(plain.len() + SEAL_OVERHEAD_BYTES);
    sealed.extend(MAGIC);
    sealed.extend(salt);
    sealed.extend_from_slice(plain);
    let tag = cipher(key, &salt)?
        .seal_in_place_separate_tag(nonce(index), Aad::from(context), &mut sealed[HEAD_BYTES..])
        .map_err(|_| SealError::NotOpened)?;
    sealed.extend_from_slice(tag.as_ref());
    Ok(sealed.into())
}

fn open(key: &[u8], context: &[u8], index: u32, sealed: Bytes) -> Result<Bytes, SealError> {
    if !is_sealed(&sealed) {
        return Err(SealError::NotSealed);
    }
    if sealed.len() < SEAL_OVERHEAD_BYTES {
        return Err(SealError::NotOpened);
    }
    // In place, unless somebody else looks at the same bytes.
    let mut sealed = sealed
        .try_into_mut()
        .unwrap_or_else(|shared| bytes::BytesMut::from(&shared[..]));
    let mut sealed = sealed.split_off(MAGIC.len());
    let mut body = sealed.split_off(SALT_BYTES);
    let cipher = cipher(key, &sealed)?;
    let plain = cipher
        .open_in_place(nonce(index), Aad::from(context), &mut body)
        .map_err(|_| SealError::NotOpened)?
        .len();
    body.truncate(plain);
    Ok(body.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster_key(digit: &str) -> ClusterKey {
        ClusterKey::from_hex(&digit.repeat(64).into()).unwrap()
    }

    fn key(job: JobId) -> PayloadKey {
        PayloadKey {
            job,
            partition: 1,
            attempt: 2,
        }
    }

    fn chunk(index: u32, bytes: &'static [u8]) -> PayloadEntry {
        PayloadEntry::Chunk {
            index,
            bytes: Bytes::from_static(bytes),
        }
    }

    #[test]
    fn what_is_sealed_opens_and_shows_nothing() {
        let job = JobId::generate();
        let job_key = JobKey::random().unwrap();
        for entry in [
            chunk(7, b"the witness, the witness"),
            chunk(0, b""),
            PayloadEntry::Manifest(Bytes::from_static(b"the witness's list")),
        ] {
            let sealed = job_key.seal_entry(&key(job), &entry).unwrap();
            let (_, _, bytes) = entry_context(&key(job), &sealed);
            assert!(is_sealed(bytes) && !bytes.windows(7).any(|found| found == b"witness"));
            let again = job_key.seal_entry(&key(job), &entry).unwrap();
            assert_ne!(again, sealed, "two seals of one thing have different keys");
            assert_eq!(job_key.open_entry(&key(job), sealed).unwrap(), entry);
        }
        let sealed = job_key.seal_input(job, b"input").unwrap();
        assert_eq!(sealed.len(), 5 + SEAL_OVERHEAD_BYTES);
        assert_eq!(job_key.open_input(job, sealed).unwrap(), "input");
    }

    #[test]
    fn an_entry_cannot_be_passed_off_as_another() {
        let job = JobId::generate();
        let job_key = JobKey::random().unwrap();
        let sealed = job_key.seal_entry(&key(job), &chunk(3, b"chunk")).unwrap();
        let PayloadEntry::Chunk { bytes, .. } = &sealed else {
            panic!("a chunk stays a chunk");
        };
        let moved = PayloadEntry::Chunk {
            index: 4,
            bytes: bytes.clone(),
        };
        let renamed = PayloadEntry::Manifest(bytes.clone());
        for (place, entry) in [
            (key(job), moved),
            (key(job), renamed),
            (key(JobId::generate()), sealed.clone()),
            (
                PayloadKey {
                    partition: 0,
                    ..key(job)
                },
                sealed.clone(),
            ),
            (
                PayloadKey {
                    attempt: 3,
                    ..key(job)
                },
                sealed.clone(),
            ),
        ] {
            assert_eq!(job_key.open_entry(&place, entry), Err(SealError::NotOpened));
        }
        assert!(job_key.open_entry(&key(job), sealed).is_ok());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let job = JobId::generate();
        let job_key = JobKey::random().unwrap();
        let sealed = job_key.seal_input(job, b"input").unwrap();
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(
                job_key.open_input(job, flipped.into()).is_err(),
                "bit {bit}"
            );
        }
        for len in 0..sealed.len() {
            assert!(
                job_key.open_input(job, sealed.slice(..len)).is_err(),
                "{len} bytes"
            );
        }
    }

    #[test]
    fn a_job_key_opens_under_its_cluster_key_and_job_only() {
        let (job, job_key) = (JobId::generate(), JobKey::random().unwrap());
        let wrapped = cluster_key("a").wrap(job, &job_key).unwrap();
        let sealed = job_key.seal_input(job, b"input").unwrap();
        let unwrapped = cluster_key("a").unwrap(job, wrapped.clone()).unwrap();
        assert_eq!(unwrapped.open_input(job, sealed).unwrap(), "input");
        let refused = |key: ClusterKey, job| key.unwrap(job, wrapped.clone()).unwrap_err();
        assert_eq!(refused(cluster_key("b"), job), SealError::NotOpened);
        assert_eq!(
            refused(cluster_key("a"), JobId::generate()),
            SealError::NotOpened
        );
        assert_ne!(
            cluster_key("a").fingerprint(),
            cluster_key("b").fingerprint()
        );
    }

    #[test]
    fn keys_of_another_form_are_refused_and_never_shown() {
        for bad in ["", "abc", &"g".repeat(64), &"a".repeat(63), &"a".repeat(66)] {
            let refused = ClusterKey::from_hex(&bad.into()).unwrap_err();
            assert!(refused.to_string().contains("openssl rand -hex 32"));
        }
        assert_eq!(format!("{:?}", cluster_key("a")), "ClusterKey(..)");
        assert_eq!(format!("{:?}", JobKey::random().unwrap()), "JobKey(..)");
    }
}
