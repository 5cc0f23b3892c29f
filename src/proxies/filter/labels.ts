/** In code points. */
export const MAX_LABEL_LENGTH = 100;
export const MAX_TAG_LENGTH = 50;
export const MAX_TAGS = 20;

/** Normalizes a label, so that labels that look the same compare equal. */
export const normalLabel = (text: string): string => text.normalize('NFC').trim();

/** Returns the form in which tags are stored and searched. */
export const normalTag = (text: string): string => normalLabel(text).toLowerCase();

export const normalTags = (tags: readonly string[]): string[] => [...new Set(tags.map(normalTag))].sort();
