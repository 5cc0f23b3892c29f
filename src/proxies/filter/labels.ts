/** The longest label and tag of a customer, in code points. */
export const MAX_LABEL_LENGTH = 100;
export const MAX_TAG_LENGTH = 50;
export const MAX_TAGS = 20;

/** Makes labels that look the same equal: one Unicode form, without surrounding blanks. */
export const normalLabel = (text: string): string => text.normalize('NFC').trim();

/** A tag in its stored form, also for searches: like a label, in lower case. */
export const normalTag = (text: string): string => normalLabel(text).toLowerCase();

/** Tags in their stored form: without duplicates, sorted. */
export const normalTags = (tags: readonly string[]): string[] => [...new Set(tags.map(normalTag))].sort();
