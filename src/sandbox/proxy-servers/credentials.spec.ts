import { Credentials } from './credentials';

test('a login has six characters and decodes to its proxy', () => {
  const credentials = new Credentials('a secret');
  const ids = Array.from({ length: 5000 }, (_, index) => 31_250_001 + index);
  const logins = ids.map((id) => credentials.loginOf(id));

  expect(new Set(logins.map(({ length }) => length))).toEqual(new Set([6]));
  expect(logins.map((login) => credentials.findIdOf(login))).toEqual(ids);
  expect(credentials.findIdOf('no-id!')).toBeNull();
});

test('different secrets give different passwords', () => {
  const [one, other] = [new Credentials('one'), new Credentials('other')];

  expect(one.passwordOf(1)).not.toBe(other.passwordOf(1));
});
