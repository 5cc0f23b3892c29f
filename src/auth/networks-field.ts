import { isNetwork } from '../common';
import { type FieldOptions, StringListField } from '../http';

const MOST_NETWORKS = 50;

/** Reads the networks that may use a token or a link; null if omitted. */
export const NetworksField = (options: FieldOptions = {}): PropertyDecorator =>
  StringListField({
    ...options,
    absent: 'null',
    atLeast: 1,
    atMost: MOST_NETWORKS,
    of: {
      isValid: isNetwork,
      type: 'ip_any_network',
      msg: 'Input should be an address or a network in CIDR notation',
    },
  });
