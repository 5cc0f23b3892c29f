/** One load, for a while. */
export interface LoadJob {
  readonly port: number;
  /** Whole HTTP requests. In a closed loop each connection has its own share of them, so that none is under way twice. */
  readonly requests: readonly string[];
  readonly connections: number;
  /** Requests a second at even distances, whether or not those before were answered; null: each connection sends the next one at once. */
  readonly perSecond: number | null;
  /** Sent and not counted. */
  readonly warmupSeconds: number;
  readonly seconds: number;
}

export interface LoadResult {
  /** How many requests were answered in the measured time, and how long that was. */
  readonly answered: number;
  readonly seconds: number;
  /** All that were sent, with the warming up: what the CPU seconds are spread over. */
  readonly sent: number;
  /** From the moment at which each request was to be sent until its last byte. */
  readonly latenciesMs: Float64Array;
  /** The same until the first byte of the body. */
  readonly firstBytesMs: Float64Array;
  /** Answers that were not 2xx, by status; 0: the connection was lost. */
  readonly failures: Readonly<Record<string, number>>;
}
