import { StrictRequest, StringField } from '../../http';

/** Several times the length of Telegram's data. */
const LONGEST = 8192;

@StrictRequest()
export class TelegramSignInRequest {
  @StringField({
    description: 'The data that Telegram gave to the Mini App, unchanged: `Telegram.WebApp.initData`',
    minLength: 1,
    maxLength: LONGEST,
  })
  initData!: string;
}
