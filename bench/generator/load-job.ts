/** A load to generate. */
export interface LoadJob {
  /** The connections are spread over them. */
  readonly ports: readonly number[];
  /** Complete HTTP requests. In a closed loop each connection sends its own share of them. */
  readonly requests: readonly string[];
  readonly connections: number;
  /** Fixed rate, independent of responses (open loop); null: closed loop. */
  readonly perSecond: number | null;
  /** Requests in this time are sent but not counted. */
  readonly warmupSeconds: number;
  readonly seconds: number;
}

export interface LoadResult {
  /** Number of responses in the measured time. */
  readonly answered: number;
  readonly seconds: number;
  /** All requests sent, including the warm-up: the CPU time is divided by it. */
  readonly sent: number;
  /** From the time at which each request was due until the last byte of its response. */
  readonly latenciesMs: Float64Array;
  /** The same, until the first byte of the body. */
  readonly firstBytesMs: Float64Array;
  /** Number of responses that were not 2xx, by status; 0: the connection was lost. */
  readonly failures: Readonly<Record<string, number>>;
}
