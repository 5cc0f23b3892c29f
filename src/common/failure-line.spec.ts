import { EnvironmentError } from '../config';
import { failureLine } from './failure-line';

describe('the line about a failure', () => {
  it('names every mistake of the environment', () => {
    const error = new EnvironmentError(['PORT must be a number', 'LOG_LEVEL must be one of info, debug']);
    expect(failureLine(error)).toBe(
      'The environment is not usable: PORT must be a number; LOG_LEVEL must be one of info, debug',
    );
  });

  it.each([
    ['an address refuses', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
    // What Node says of a name with several addresses, localhost for one.
    ['all addresses of a name refuse', Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' })],
    ['pg has waited in vain', new Error('Connection terminated due to connection timeout')],
    ['the pool has waited in vain', new Error('timeout exceeded when trying to connect')],
  ])('says that the database cannot be reached when %s', (_, error) => {
    expect(failureLine(error)).toBe('The database cannot be reached');
  });

  it('is one line of whatever else an error says', () => {
    expect(failureLine(new Error('first\n  second'))).toBe('first second');
    expect(failureLine('no error')).toBe('Failed');
  });
});
