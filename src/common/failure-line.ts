const UNREACHABLE = /^(ECONNREFUSED|ECONNRESET|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|ETIMEDOUT)$/;
const CONNECT_TIMEOUT = /connect.*timeout|timeout.*connect/i;

const UNTRUSTED =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF).*)$/;

export function failureLine(error: unknown): string {
  if (!(error instanceof Error)) return 'Failed';
  // Node's error for a host name with several addresses has no message, so check its code.
  if (('code' in error && UNREACHABLE.test(String(error.code))) || CONNECT_TIMEOUT.test(error.message)) {
    return 'The database cannot be reached';
  }
  if ('code' in error && UNTRUSTED.test(String(error.code))) {
    return (
      "The database's certificate was issued by an unknown CA: set sslrootcert in DATABASE_URL, or " +
      "NODE_EXTRA_CA_CERTS, to the path of the CA's file"
    );
  }
  return error.message.replaceAll(/\s*\n\s*/g, ' ');
}
