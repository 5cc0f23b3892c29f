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

  it('joins the lines of any other error', () => {
    expect(failureLine(new Error('first\n  second'))).toBe('first second');
    expect(failureLine('no error')).toBe('Failed');
  });
});
