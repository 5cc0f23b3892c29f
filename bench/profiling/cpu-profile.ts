/** The part of the output of `node --cpu-prof` that is read here. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      /** Zero-based. */
      readonly lineNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  /** Microseconds of the monotonic clock, as in `process.hrtime`. */
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A function on a stack, with its times. */
export interface Frame {
  readonly name: string;
  /** The package, or the module of the service. */
  readonly where: string;
  selfUs: number;
  /** Including callees. */
  totalUs: number;
  readonly callees: Map<string, Frame>;
}

/** Waiting and the profiler itself are not work. */
const IDLE = new Set(['(idle)', '(program)']);

/** Aggregates the stacks between two times of the monotonic clock, in microseconds. */
export function fold(profile: CpuProfile, fromUs: number, untilUs: number): Frame {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])),
  );
  const root = newFrame('all', '');
  let atUs = profile.startTime;
  for (const [place, sample] of profile.samples.entries()) {
    // A delta precedes its sample; the sample represents the time until the next one.
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

/** `pg`, `@nestjs/core`, `node:http` or `src/orders`; functions of the engine have no URL. */
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

/** Self times in microseconds, the largest first. */
export function selfTimes(root: Frame, by: (frame: Frame) => string): [name: string, us: number][] {
  const sums = new Map<string, number>();
  const add = (frame: Frame): void => {
    if (frame.selfUs > 0) sums.set(by(frame), (sums.get(by(frame)) ?? 0) + frame.selfUs);
    for (const callee of frame.callees.values()) add(callee);
  };
  add(root);
  return [...sums].sort(([, a], [, b]) => b - a);
}
