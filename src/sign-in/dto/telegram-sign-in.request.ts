import { ApiProperty } from '@nestjs/swagger';
import { StrictRequest, StringField } from '../../http';

/** Some times as long as what Telegram gives. */
const LONGEST = 8192;

@StrictRequest()
export class TelegramSignInRequest {
  @ApiProperty({
    description: 'What Telegram gave to the Mini App, unchanged: `Telegram.WebApp.initData`',
  })
  @StringField({ minLength: 1, maxLength: LONGEST })
  initData!: string;
}
