import { randomUUID } from 'node:crypto';

export const SERVICE_NAME = 'Proxy Rental Service';
/** Must equal the version in package.json; a test compares them. */
export const SERVICE_VERSION = '1.0.0';

export const REPLICA_ID = randomUUID();
