/** As long as a build takes, on which some wait. */
const HOOK_TIMEOUT_MS = 200_000;

/** A fixture ends by one of these, of which it has one at most. */
const ENDS = ['close', 'destroy', 'drop', 'end', 'stop'] as const;

/** How to close each fixture that is open, the latest last. */
const closings: (() => unknown)[] = [];

/**
 * Opens a fixture that the tests of this block share, and closes it after them, the last one first.
 *
 * @param close is what ends it by its own name for that, such as `close`, if omitted; `borrowed` for the part
 *   of another fixture
 * @returns stands for the fixture, which exists from the first test on
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

/** Does not close a fixture that ends with another one. */
export const borrowed = (): void => undefined;

/** Makes a fixture anew before each test of this block. @returns stands for it */
export function forEachTest<Made extends object>(make: () => Made | Promise<Made>): Made {
  const [placeholder, fill] = placeholderOf<Made>();
  beforeEach(async () => fill(await make()), HOOK_TIMEOUT_MS);
  return placeholder;
}

/** Runs after the tests of this block, while the fixtures above are open. */
export function beforeClosing(work: () => unknown): void {
  atBothEnds(() => work);
}

/** Jest runs the `afterAll` hooks in the order of their declaration: each closes the last that is left. */
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

/** An object that is used as another one, once it is filled with that. */
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
        // Methods of classes with private fields work on the object itself alone.
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
