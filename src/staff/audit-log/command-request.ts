/** A request that a CLI command makes to a staff route within its own process. It needs no sign-in. */
export class CommandRequest {
  readonly ip = undefined;

  constructor(
    readonly params: Readonly<Record<string, string>>,
    readonly query: object,
    readonly body: object,
    private readonly headers: Readonly<Record<string, string>>,
    readonly by: string | undefined,
  ) {}

  get(header: string): string | undefined {
    const name = Object.keys(this.headers).find((one) => one.toLowerCase() === header.toLowerCase());
    return name === undefined ? undefined : this.headers[name];
  }
}
