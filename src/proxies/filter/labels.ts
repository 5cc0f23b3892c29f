/** The longest label and tag of a customer, in code points. */
export const MAX_LABEL_LENGTH = 100;
export const MAX_TAG_LENGTH = 50;
export const MAX_TAGS = 20;

/** Labels that look the same are the same: text of one form in Unicode, without blanks around it. */
export const normalLabel = (text: string): string => text.normalize('NFC').trim();

/** A tag as it is stored and looked for: as a label, and in lower case. */
export const normalTag = (text: string): string => normalLabel(text).toLowerCase();

/** Tags as they are stored: each once, in one order. */
export const normalTags = (tags: readonly string[]): string[] => [...new Set(tags.map(normalTag))].sort();
