interface Page<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: number | string | null;
}

/** @param read gets the parameter of a page, which is empty for the first page */
export async function readPages<Item>(read: (cursor: string) => Promise<Page<Item>>): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor = ''; ;) {
    const page = await read(cursor);
    items.push(...page.items);
    if (page.next_cursor === null) return items;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}
