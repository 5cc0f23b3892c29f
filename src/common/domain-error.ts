export type ErrorKind =
  | 'bad-request'
  | 'not-authenticated'
  | 'invalid-token'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'gone'
  | 'body-too-large'
  | 'unsupported-encoding'
  | 'validation'
  | 'rate-limited'
  | 'unavailable';

export interface DomainErrorOptions {
  readonly cause?: unknown;
  /** Headers of the response, e.g. `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The value of the `Retry-After` header, before it is rounded up. */
  readonly retryAfterSeconds?: number;
}

/** An error to report to the caller. Services throw domain errors rather than HTTP exceptions. */
export abstract class DomainError extends Error {
  abstract readonly kind: ErrorKind;
  readonly headers: Readonly<Record<string, string>>;

  /** @param detail the response's `detail` */
  constructor(
    readonly detail: string,
    { cause, headers = {}, retryAfterSeconds }: DomainErrorOptions = {},
  ) {
    super(detail, { cause });
    this.name = new.target.name;
    this.headers =
      retryAfterSeconds === undefined
        ? headers
        : { ...headers, 'Retry-After': String(Math.ceil(retryAfterSeconds)) };
  }

  /** Returns the class name in kebab case: `proxy-not-found`. It never changes: clients depend on it. */
  get code(): string {
    return codeOf(this.name);
  }
}

/** Converts a name to kebab case: `ProxyNotFound` and `Proxy Not Found` become `proxy-not-found`. */
export const codeOf = (name: string): string => name.replaceAll(/(?<=[a-z]) ?(?=[A-Z])/g, '-').toLowerCase();

/** Creates the base class of a domain error. `detail` may be a function of the error's arguments. */
export function domainError<Given extends readonly unknown[] = []>(
  kind: ErrorKind,
  detail: string | ((...given: Given) => string),
  options?: DomainErrorOptions | ((...given: Given) => DomainErrorOptions),
) {
  return class extends DomainError {
    readonly kind = kind;

    constructor(...given: Given) {
      super(
        typeof detail === 'string' ? detail : detail(...given),
        typeof options === 'function' ? options(...given) : options,
      );
    }
  };
}

/** The service, its database or its provider is unavailable. Nothing was changed. */
export class ServiceUnavailable extends DomainError {
  readonly kind = 'unavailable';

  constructor(options: Pick<DomainErrorOptions, 'retryAfterSeconds'> = {}) {
    super('Service temporarily unavailable', options);
  }
}
