import { createServer } from 'node:http';
import { listen } from './listen';

type Value = string | number | readonly Value[];

export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly hasFailed: boolean;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly bodies: readonly string[];
  close(): Promise<void>;
}

interface WireValue {
  readonly stringValue?: string;
  readonly intValue?: number;
  readonly arrayValue?: { readonly values: readonly WireValue[] };
}

interface WireSpan extends Omit<ReceivedSpan, 'attributes' | 'links' | 'hasFailed'> {
  readonly attributes: readonly { readonly key: string; readonly value: WireValue }[];
  readonly links?: ReceivedSpan['links'];
  readonly status: { readonly code: number };
}

interface Export {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

const valueOf = ({ stringValue, intValue, arrayValue }: WireValue): Value =>
  stringValue ?? intValue ?? (arrayValue?.values ?? []).map(valueOf);

const toSpan = ({ attributes, links = [], status, ...span }: WireSpan): ReceivedSpan => ({
  ...span,
  attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)])),
  links,
  hasFailed: status.code === 2,
});

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      bodies.push(body);
      for (const { scopeSpans } of (JSON.parse(body) as Export).resourceSpans) {
        for (const scope of scopeSpans) spans.push(...scope.spans.map(toSpan));
      }
      response.setHeader('Content-Type', 'application/json').end('{}');
    });
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}/v1/traces`,
    spans,
    bodies,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
