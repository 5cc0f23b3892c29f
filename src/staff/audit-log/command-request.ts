/** A request to a route of staff that a command makes in its own process, without sign-in. */
export class CommandRequest {
  readonly ip = undefined;

  /** @param by the author, for a change that stores one */
  constructor(
    readonly params: Readonly<Record<string, string>>,
    readonly query: object,
    readonly body: object,
    private readonly headers: Readonly<Record<string, string>>,
    readonly by: string | undefined,
  ) {}

  get(header: string): string | undefined {
    // Names of headers are case-insensitive.
    const name = Object.keys(this.headers).find((one) => one.toLowerCase() === header.toLowerCase());
    return name === undefined ? undefined : this.headers[name];
  }
}
