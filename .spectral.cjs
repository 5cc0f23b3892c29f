const { oas } = require('@stoplight/spectral-rulesets');

/** The rules by which the tests lint both descriptions, and `spectral lint` does from this directory. */
module.exports = {
  extends: [[oas, 'recommended']],
  rules: {
    // OpenAPI 3.1 lets an operation name the roles that it needs with any scheme. Spectral knows 3.0 only,
    // where scopes belong to OAuth.
    'oas3-operation-security-defined': 'off',
  },
};
