/** Maximum length of a customer's label, in code points. */
export const MAX_LABEL_LENGTH = 100;
export const MAX_TAG_LENGTH = 50;
export const MAX_TAGS = 20;

/** Normalizes a label to NFC and trims it, so that labels that look the same are equal. */
export const normalLabel = (text: string): string => text.normalize('NFC').trim();

/** Returns a tag in its stored form: normalized, in lower case. Searches use the same form. */
export const normalTag = (text: string): string => normalLabel(text).toLowerCase();

/** Returns tags in their stored form, sorted and without duplicates. */
export const normalTags = (tags: readonly string[]): string[] => [...new Set(tags.map(normalTag))].sort();
