/** What `node --cpu-prof` writes, as far as it is read here. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      /** From 0. */
      readonly lineNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  /** Microseconds of the machine's monotonic clock, as `process.hrtime` gives them. */
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A function on a stack, with what it and those that it called took. */
export interface Frame {
  readonly name: string;
  /** The package or the module of the service. */
  readonly where: string;
  /** Microseconds. */
  selfUs: number;
  totalUs: number;
  readonly callees: Map<string, Frame>;
}

/** What the process waits in, and what watches it, is no work. */
const IDLE = new Set(['(idle)', '(program)']);

/** Adds up what was on the stack between two moments of the machine's monotonic clock, microseconds. */
export function fold(profile: CpuProfile, fromUs: number, untilUs: number): Frame {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])),
  );
  const root = newFrame('all', '');
  let atUs = profile.startTime;
  for (const [place, sample] of profile.samples.entries()) {
    // A delta lies before its sample; the sample stands for the time until the next one.
    atUs += profile.timeDeltas[place] ?? 0;
    const tookUs = profile.timeDeltas[place + 1] ?? 0;
    const leaf = nodes.get(sample);
    if (!leaf || atUs < fromUs || atUs > untilUs || IDLE.has(leaf.callFrame.functionName)) continue;
    const stack: (typeof leaf)['callFrame'][] = [];
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) {
      const frame = nodes.get(id)?.callFrame;
      if (frame && frame.functionName !== '(root)') stack.push(frame);
    }
    let frame = root;
    frame.totalUs += tookUs;
    for (const { functionName, url, lineNumber } of stack.toReversed()) {
      const name =
        functionName === '' ? `(anonymous ${url.split('/').at(-1)}:${lineNumber + 1})` : functionName;
      const where = placeOf(url);
      const key = `${name} ${where}`;
      const next = frame.callees.get(key) ?? newFrame(name, where);
      frame.callees.set(key, next);
      frame = next;
      frame.totalUs += tookUs;
    }
    frame.selfUs += tookUs;
  }
  return root;
}

const newFrame = (name: string, where: string): Frame => ({
  name,
  where,
  selfUs: 0,
  totalUs: 0,
  callees: new Map(),
});

/** `pg`, `@nestjs/core`, `node:http`, `src/orders`; the engine's own have no address. */
export function placeOf(url: string): string {
  if (url === '') return 'engine';
  if (url.startsWith('node:')) return url.split('/', 1)[0] ?? url;
  const inPackages = url.lastIndexOf('/node_modules/');
  if (inPackages !== -1) {
    const [first = '', second = ''] = url.slice(inPackages + '/node_modules/'.length).split('/');
    return first.startsWith('@') ? `${first}/${second}` : first;
  }
  const [, module] = /\/dist\/src\/([^/]+)/.exec(url) ?? [];
  return module === undefined ? 'other' : `src/${module.replace(/\.js$/, '')}`;
}

/** Self times, microseconds, most first. */
export function selfTimes(root: Frame, by: (frame: Frame) => string): [name: string, us: number][] {
  const sums = new Map<string, number>();
  const add = (frame: Frame): void => {
    if (frame.selfUs > 0) sums.set(by(frame), (sums.get(by(frame)) ?? 0) + frame.selfUs);
    for (const callee of frame.callees.values()) add(callee);
  };
  add(root);
  return [...sums].sort(([, a], [, b]) => b - a);
}
