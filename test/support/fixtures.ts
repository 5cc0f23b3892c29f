/** Some fixtures wait for a build. */
const HOOK_TIMEOUT_MS = 200_000;
const ENDS = ['close', 'destroy', 'drop', 'end', 'stop'] as const;

/** The latest fixture comes last. */
const closings: (() => unknown)[] = [];

/**
 * Opens a fixture for this block's tests and closes it after them, newest first.
 *
 * @param close by default calls the fixture's method of {@link ENDS}; `borrowed` does nothing
 * @returns a placeholder for the fixture, usable in hooks and tests
 */
export function forAllTests<Opened extends object>(
  open: () => Opened | Promise<Opened>,
  close: (opened: Opened) => unknown = closeItself,
): Opened {
  const [placeholder, fill] = placeholderOf<Opened>();
  atBothEnds(async () => {
    const opened = await open();
    fill(opened);
    return () => close(opened);
  });
  return placeholder;
}

export const borrowed = (): void => undefined;

/** Opens a fixture before each test. @returns a placeholder for it */
export function forEachTest<Made extends object>(make: () => Made | Promise<Made>): Made {
  const [placeholder, fill] = placeholderOf<Made>();
  beforeEach(async () => fill(await make()), HOOK_TIMEOUT_MS);
  return placeholder;
}

export function beforeClosing(work: () => unknown): void {
  atBothEnds(() => work);
}

/** Jest runs `afterAll` hooks in the order of their declaration, so each closes the newest open fixture. */
function atBothEnds(begin: () => (() => unknown) | Promise<() => unknown>): void {
  beforeAll(async () => {
    let end: () => unknown = () => undefined;
    try {
      end = await begin();
    } finally {
      closings.push(end);
    }
  }, HOOK_TIMEOUT_MS);
  afterAll(async () => {
    await closings.pop()?.();
  }, HOOK_TIMEOUT_MS);
}

async function closeItself(opened: object): Promise<void> {
  const name = ENDS.find((end) => end in opened);
  if (name) await (Reflect.get(opened, name) as () => unknown).call(opened);
}

function placeholderOf<Content extends object>(): [Content, fill: (content: Content) => void] {
  let content: Content | undefined;
  const get = (): Content => {
    if (content) return content;
    throw new Error('a fixture is used before the tests have begun');
  };
  const placeholder = new Proxy<object>(
    {},
    {
      get: (_, name) => {
        const value: unknown = Reflect.get(get(), name);
        if (typeof value !== 'function' || jest.isMockFunction(value)) return value;
        // Methods of classes with private fields need the object itself as `this`.
        return value.bind(get()) as unknown;
      },
      set: (_, name, value) => Reflect.set(get(), name, value),
      deleteProperty: (_, name) => Reflect.deleteProperty(get(), name),
      has: (_, name) => name in get(),
      ownKeys: () => Reflect.ownKeys(get()),
      getOwnPropertyDescriptor: (_, name) => {
        const property = Reflect.getOwnPropertyDescriptor(get(), name);
        return property && { ...property, configurable: true };
      },
      getPrototypeOf: () => Reflect.getPrototypeOf(get()),
    },
  );
  return [placeholder as Content, (filled) => (content = filled)];
}
