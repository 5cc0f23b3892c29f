/** Few enough digits for a bigint column, and for an exact number in JSON. */
export const ID_PATTERN = '[1-9][0-9]{0,14}';

const ID = new RegExp(`^${ID_PATTERN}$`);

export const isId = (text: string): boolean => ID.test(text);
