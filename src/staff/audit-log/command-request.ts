/** A request to a route of staff that a command makes in its own process, where nobody signs in. */
export class CommandRequest {
  readonly ip = undefined;

  /** @param by the author of a change that keeps one */
  constructor(
    readonly params: Readonly<Record<string, string>>,
    readonly query: object,
    readonly body: object,
    private readonly headers: Readonly<Record<string, string>>,
    readonly by: string | undefined,
  ) {}

  get(header: string): string | undefined {
    // Names of headers are written in any case.
    const name = Object.keys(this.headers).find((one) => one.toLowerCase() === header.toLowerCase());
    return name === undefined ? undefined : this.headers[name];
  }
}
