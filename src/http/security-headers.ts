import helmet from 'helmet';

/** Responses are data and load nothing. A page sets a policy of its own. */
const NOTHING_IS_LOADED = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
};

/** TLS, if there is any, ends at a proxy in front, which decides about Strict-Transport-Security. */
export const securityHeaders = helmet({
  strictTransportSecurity: false,
  contentSecurityPolicy: NOTHING_IS_LOADED,
});
