export const IP_VERSIONS = ['6', '4', '4s'] as const;
export type IpVersion = (typeof IP_VERSIONS)[number];

export const IP_VERSIONS_TEXT = 'The IP version: `6` (IPv6), `4` (IPv4) or `4s` (IPv4 shared)';

export const IP_VERSION_PATTERN = `^(${IP_VERSIONS.join('|')})$`;
