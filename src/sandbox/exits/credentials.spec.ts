import { Credentials } from './credentials';

test('a login decodes to its proxy, and logins are unique', () => {
  const credentials = new Credentials('a secret');
  const ids = Array.from({ length: 5000 }, (_, index) => 31_250_001 + index);
  const logins = ids.map((id) => credentials.loginOf(id));

  expect(new Set(logins).size).toBe(ids.length);
  expect(logins.map((login) => credentials.findIdOf(login))).toEqual(ids);
});

test('different secrets give different logins and passwords', () => {
  const [one, other] = [new Credentials('one'), new Credentials('other')];

  expect(one.loginOf(1)).not.toBe(other.loginOf(1));
  expect(one.passwordOf(1)).not.toBe(other.passwordOf(1));
});
