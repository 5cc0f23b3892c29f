import { generateWebhookSecret, signPayload, signatureHeader } from './signing';

const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const TIMESTAMP = 1_614_265_330;
const BODY = '{"test": 2432232314}';

describe('The signature of a webhook', () => {
  it('is the one that the specification of Standard Webhooks gives as its example', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    expect(signPayload(secret, ID, TIMESTAMP, BODY)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it('is made with both secrets until the previous one ends', () => {
    const secrets = {
      secret: generateWebhookSecret(),
      previousSecret: generateWebhookSecret(),
      previousSecretUntil: new Date((TIMESTAMP + 1) * 1000),
    };
    const [now, before] = [secrets.secret, secrets.previousSecret].map((secret) =>
      signPayload(secret, ID, TIMESTAMP, BODY),
    );
    expect(signatureHeader(secrets, ID, TIMESTAMP, BODY)).toBe(`${now} ${before}`);
    expect(signatureHeader(secrets, ID, TIMESTAMP + 1, BODY)).toBe(
      signPayload(secrets.secret, ID, TIMESTAMP + 1, BODY),
    );
  });

  it('needs a secret of 256 random bits', () => {
    const secret = generateWebhookSecret();
    expect(Buffer.from(secret.replace(/^whsec_/, ''), 'base64')).toHaveLength(32);
    expect(generateWebhookSecret()).not.toBe(secret);
  });
});
