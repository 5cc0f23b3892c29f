import { z } from 'zod';
import { isRedirectUri } from './redirect-uri';

const MAX_REDIRECT_URIS = 10;

/** Client metadata (RFC 7591). Other fields are ignored. */
export const clientMetadata = z.object({
  redirect_uris: z.array(z.string().refine(isRedirectUri)).min(1).max(MAX_REDIRECT_URIS),
  client_name: z.string().max(1000).optional(),
  grant_types: z
    .array(z.string())
    .refine((types) => types.includes('authorization_code'))
    .optional(),
  response_types: z
    .array(z.string())
    .refine((types) => types.includes('code'))
    .optional(),
});

export type ClientMetadata = z.output<typeof clientMetadata>;
