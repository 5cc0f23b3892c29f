import { isWireMethodName, type WireMethodName } from './methods/wire-methods';
import { Query } from './query';

/** A parsed request URL: `/api/{key}[/{method}[/]][?query]`. */
export interface WireAddress {
  key: string;
  /** `null` for an unknown method. */
  method: WireMethodName | null;
  /** The method as written, for the call log. */
  methodText: string;
  query: Query;
}

/** `null` when the URL is not below `/api`. */
export function findWireAddress(url: string): WireAddress | null {
  const questionMark = url.indexOf('?');
  const path = questionMark === -1 ? url : url.slice(0, questionMark);
  const [, root, key = '', methodText = '', ...rest] = path.split('/');
  if (root !== 'api') return null;
  const query = new Query(questionMark === -1 ? '' : url.slice(questionMark + 1));
  const isComplete = rest.length === 0 || (rest.length === 1 && rest[0] === '');
  return {
    key,
    methodText: methodText.slice(0, 40),
    query,
    method: isComplete ? methodNamed(methodText) : null,
  };
}

function methodNamed(text: string): WireMethodName | null {
  if (text === '') return 'account';
  return text !== 'account' && isWireMethodName(text) ? text : null;
}
