/** At most 15 digits, so that ids fit into a bigint column and are exact as JSON numbers. */
export const ID_PATTERN = '[1-9][0-9]{0,14}';

const ID = new RegExp(`^${ID_PATTERN}$`);

export const isId = (text: string): boolean => ID.test(text);
