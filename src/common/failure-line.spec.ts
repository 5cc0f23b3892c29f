import { failureLine } from './failure-line';

describe('failureLine', () => {
  it.each([
    ['an address refuses', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
    // Node's error for a name with several addresses, such as localhost.
    ['all addresses of a name refuse', Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' })],
    ['pg gets no connection in time', new Error('Connection terminated due to connection timeout')],
    ['the pool has no free connection in time', new Error('timeout exceeded when trying to connect')],
  ])('says that the database cannot be reached when %s', (_, error) => {
    expect(failureLine(error)).toBe('The database cannot be reached');
  });

  it('names the two ways to trust a private CA', () => {
    const error = Object.assign(new Error('self-signed'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' });
    expect(failureLine(error)).toMatch(
      /set sslrootcert in DATABASE_URL, or NODE_EXTRA_CA_CERTS, to the path of the CA's file$/,
    );
  });

  it('joins the lines of any other error', () => {
    expect(failureLine(new Error('first\n  second'))).toBe('first second');
    expect(failureLine('no error')).toBe('Failed');
  });
});
