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
  readonly headers?: Readonly<Record<string, string>>;
  readonly retryAfterSeconds?: number;
}

/** Services throw domain errors rather than HTTP exceptions. */
export abstract class DomainError extends Error {
  abstract readonly kind: ErrorKind;
  readonly headers: Readonly<Record<string, string>>;

  /** @param detail shown to the client */
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

  /** Returns the class name in kebab case, such as `proxy-not-found`. Clients depend on these codes. */
  get code(): string {
    return codeOf(this.name);
  }
}

/** `ProxyNotFound` and `Proxy Not Found` become `proxy-not-found`. */
export const codeOf = (name: string): string => name.replaceAll(/(?<=[a-z]) ?(?=[A-Z])/g, '-').toLowerCase();

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

/** Thrown only if the request changed nothing. */
export class ServiceUnavailable extends DomainError {
  readonly kind = 'unavailable';

  constructor(options: Pick<DomainErrorOptions, 'retryAfterSeconds'> = {}) {
    super('Service temporarily unavailable', options);
  }
}
