export const SERVICE_NAME = 'Proxy Rental Service';
/** Also in package.json; a test holds them together. */
export const SERVICE_VERSION = '0.1.0';
