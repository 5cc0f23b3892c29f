import {
  OPEN_STATES,
  ORDER_STATES,
  POSSIBLY_BOUGHT_STATES,
  statesBefore,
  UNATTENDED_STATES,
} from './order-states';

describe('The states of an order', () => {
  it('are open or closed', () => {
    expect(ORDER_STATES).toEqual([...OPEN_STATES, 'completed', 'partial', 'canceled']);
  });

  it('may mean a purchase from the claim on', () => {
    expect(POSSIBLY_BOUGHT_STATES).toEqual(['submitting', 'confirming', 'review']);
  });

  it('are reconciled until staff have to decide', () => {
    expect(UNATTENDED_STATES).toEqual(['reserved', 'submitting', 'confirming']);
  });

  it('guard each transition by the states that it may start from', () => {
    expect(statesBefore('submitting')).toEqual(['reserved']);
    expect(statesBefore('reserved')).toEqual(['submitting']);
    expect(statesBefore('confirming')).toEqual(['submitting']);
    expect(statesBefore('review')).toEqual(['submitting', 'confirming']);
    expect(statesBefore('completed')).toEqual(POSSIBLY_BOUGHT_STATES);
    expect(statesBefore('partial')).toEqual(POSSIBLY_BOUGHT_STATES);
    expect(statesBefore('canceled')).toEqual(OPEN_STATES);
  });
});
