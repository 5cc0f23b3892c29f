import { isWireMethodName, type WireMethodName } from './methods/wire-methods';
import { Query } from './query';

/** Parses `/api/{key}[/{method}[/]][?query]`; returns null outside `/api`. */
export function findWireAddress(url: string) {
  const questionMark = url.indexOf('?');
  const path = questionMark === -1 ? url : url.slice(0, questionMark);
  const [, root, key = '', methodText = '', ...rest] = path.split('/');
  if (root !== 'api') return null;
  const query = new Query(questionMark === -1 ? '' : url.slice(questionMark + 1));
  const isComplete = rest.length === 0 || (rest.length === 1 && rest[0] === '');
  return {
    key,
    /** Method as written, for the call log. */
    methodText: methodText.slice(0, 40),
    query,
    method: isComplete ? methodNamed(methodText) : null,
  };
}

function methodNamed(text: string): WireMethodName | null {
  if (text === '') return 'account';
  return text !== 'account' && isWireMethodName(text) ? text : null;
}
