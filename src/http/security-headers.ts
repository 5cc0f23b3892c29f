import helmet from 'helmet';

/** Responses are data and load nothing. Pages replace this policy. */
const NOTHING_IS_LOADED = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
};

/** TLS, if any, ends at a reverse proxy, which decides about Strict-Transport-Security. */
export const securityHeaders = helmet({
  strictTransportSecurity: false,
  contentSecurityPolicy: NOTHING_IS_LOADED,
});
