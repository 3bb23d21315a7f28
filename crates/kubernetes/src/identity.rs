//! What the agents of a run's pods are known by, and the lab to them.

use kdyno_model::secret::Secret;

/// Made for one run, and given to its pods as a secret.
pub struct AgentIdentity {
    /// PEM.
    pub certificate: Vec<u8>,
    /// Its key, PEM.
    pub key: Secret,
    /// What the lab shows to them.
    pub token: Secret,
}
